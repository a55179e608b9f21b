/* Setters and readers for tables of options. */
#ifndef TT_TUNER_CLI_SHELL_VALUES_H
#define TT_TUNER_CLI_SHELL_VALUES_H

#include "tuner/cli/shell/cli.h"

/* TT_E_INVALID says what is wrong with the value, and what is right. */
tt_status tt__cli_set_sizes(tt__cli_args *args, const char *value);
tt_status tt__cli_set_shapes(tt__cli_args *args, const char *value);
tt_status tt__cli_set_elem_size(tt__cli_args *args, const char *value);
tt_status tt__cli_set_dtype(tt__cli_args *args, const char *value);
tt_status tt__cli_set_permute(tt__cli_args *args, const char *value);
tt_status tt__cli_set_dims(tt__cli_args *args, const char *value);
tt_status tt__cli_set_align(tt__cli_args *args, const char *value);
tt_status tt__cli_set_cc(tt__cli_args *args, const char *value);
tt_status tt__cli_set_device(tt__cli_args *args, const char *value);
tt_status tt__cli_set_jobs(tt__cli_args *args, const char *value);
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

/* Readers: a number of at least 1 into an int64_t, and seconds into a double. */
tt_status tt__cli_read_count(void *out, const char *value);
tt_status tt__cli_read_seconds(void *out, const char *value);
/* A text. A second one would drop the first without a word, where users may expect both. */
tt_status tt__cli_read_once(void *out, const char *value);

/* Types that messages and completions name; others are known, too. */
#define TT__DTYPES "u8 i8 f16 bf16 i16 f32 i32 f64 i64 c64 c128"

#endif
