/* A configuration as text, "TILE_DIM=32 MODE=fast", and as one index per parameter into its values. */
#ifndef TT_TEMPLATE_CONFIG_H
#define TT_TEMPLATE_CONFIG_H

#include "template/template.h"

/* Reads a configuration: every parameter once, in any order. TT_E_INVALID says which word is wrong. */
tt_status tt__config_parse(size_t choice[TT__PARAMS_MAX], const tt__template *t, const char *config);

/* A configuration of an older text of the template as one of today's, if that can be: parameters that have
 * gone are left out, new ones get their default. TT_E_INVALID if a value is none any more. */
tt_status tt__config_adapt(char out[TT__CONFIG_MAX], const tt__template *t, const char *config);

/* Writes it in the order of declaration. Every configuration of a parsed template fits. */
void tt__config_format(char out[TT__CONFIG_MAX], const tt__template *t, const size_t *choice);

#endif
