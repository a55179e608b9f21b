/*
 * A configuration as text, "TILE_DIM=32 MODE=fast", and as the index of each parameter's value.
 */
#ifndef TT_KERNEL_SPACE_CONFIG_H
#define TT_KERNEL_SPACE_CONFIG_H

#include "kernel/model/template.h"

/* Reads a configuration. It must have every parameter once, in any order. TT_E_INVALID names the wrong
 * word. */
tt_status tt__config_parse(size_t choice[TT__PARAMS_MAX], const tt__template *t, const char *config);

/* Converts a configuration of an older version of the template. Removed parameters are dropped, and new ones
 * get their default. TT_E_INVALID: a value does not exist any more. */
tt_status tt__config_adapt(char out[TT__CONFIG_MAX], const tt__template *t, const char *config);

/* Writes a configuration in the order of declaration. All configurations of a parsed template fit. */
void tt__config_format(char out[TT__CONFIG_MAX], const tt__template *t, const size_t *choice);

/* Evaluates `maxrregcount` for a configuration. TT_E_TEMPLATE: the value is not a number of registers. */
tt_status tt__config_max_regs(int *out, const tt__template *t, const char *config);

#endif
