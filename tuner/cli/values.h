/* Setters for tables of options: each reads the value of one option. */
#ifndef TT_CLI_VALUES_H
#define TT_CLI_VALUES_H

#include "tuner/cli/cli.h"

/* TT_E_INVALID says what is wrong with the value, and what is right. */
tt_status tt__cli_set_sizes(tt__cli_args *args, const char *value);
tt_status tt__cli_set_shapes(tt__cli_args *args, const char *value);
tt_status tt__cli_set_elem_size(tt__cli_args *args, const char *value);
tt_status tt__cli_set_dtype(tt__cli_args *args, const char *value);
tt_status tt__cli_set_batch(tt__cli_args *args, const char *value);
tt_status tt__cli_set_lds(tt__cli_args *args, const char *value);
tt_status tt__cli_set_ldd(tt__cli_args *args, const char *value);
tt_status tt__cli_set_permute(tt__cli_args *args, const char *value);
tt_status tt__cli_set_dims(tt__cli_args *args, const char *value);
tt_status tt__cli_set_align(tt__cli_args *args, const char *value);
tt_status tt__cli_set_cc(tt__cli_args *args, const char *value);
tt_status tt__cli_set_device(tt__cli_args *args, const char *value);
tt_status tt__cli_set_jobs(tt__cli_args *args, const char *value);
tt_status tt__cli_set_trial_timeout(tt__cli_args *args, const char *value);
tt_status tt__cli_set_compile_timeout(tt__cli_args *args, const char *value);
tt_status tt__cli_add_only(tt__cli_args *args, const char *value);
tt_status tt__cli_set_effort(tt__cli_args *args, const char *value);
tt_status tt__cli_set_budget(tt__cli_args *args, const char *value);
tt_status tt__cli_set_max_trials(tt__cli_args *args, const char *value);
tt_status tt__cli_set_seed(tt__cli_args *args, const char *value);
tt_status tt__cli_set_objective(tt__cli_args *args, const char *value);
tt_status tt__cli_set_strategy(tt__cli_args *args, const char *value);
tt_status tt__cli_set_older_than(tt__cli_args *args, const char *value);
tt_status tt__cli_add_template(tt__cli_args *args, const char *value);
tt_status tt__cli_add_text(tt__cli_args *args, const char *value);

/* The values that its setter takes, with blanks between them; "" if they cannot be listed. */
const char *tt__cli_values(const tt__cli_option *o);

#endif
