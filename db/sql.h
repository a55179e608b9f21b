/*
 * All SQL statements of the store. They are prepared on first use and kept. Column lists follow db/field.c.
 */
#ifndef TT_DB_SQL_H
#define TT_DB_SQL_H

/* clang-format off */

#define TT__GPU_COLS "gpu.name, gpu.mig, gpu.cc, gpu.sm_count, gpu.memory_bytes, gpu.l2_bytes," \
    " gpu.max_threads_per_block, gpu.shared_per_block, gpu.peak_gbps"
#define TT__ENV_COLS "env.driver, env.nvrtc, env.library"
#define TT__WINNER_COLS "w.time_us, w.copy_us, w.copy_fraction, w.speedup_vs_default, w.trials, w.failed, w.unix_ms," \
    " w.bits, w.batch_invariant"
/* Columns of a problem, for tt__db_problem_read. */
#define TT__PROBLEM_COLS "operation.name, operation.text, problem.warm, problem.unverified, problem.id, problem.moved_bytes," \
    " problem.in_graph"
#define TT__JOIN_OPERATION " JOIN operation ON operation.id = problem.operation_id"
/* The value of a problem's variable; NULL if it has no such variable. */
#define TT__VALUE(name) "(SELECT value FROM value WHERE problem_id = problem.id AND name = '" name "')"
#define TT__TRIAL_COLS "trial.status, trial.time, trial.compile_us, trial.regs, trial.samples, trial.reason," \
    " trial.weight, trial.limit_s, trial.bits"

/* Of a trial that is pulled into the store: see tt__db_pull. */
#define TT__PULLED_COLS "status, time, compile_us, regs, samples, reason, weight, limit_s, bits, problem_id, stage, config_id," \
    " run_id, at_ms"

/* Of a GPU (?4), an environment (?1 to ?3, NULL: any) and a problem (?5). CROSS JOIN keeps the key's order. */
#define TT__TRIALS_COLS TT__TRIAL_COLS ", template.kernel, template.hash, config.text, run.source, trial.run_id," \
    " run.started_ms + trial.at_ms AS unix_ms, trial.stage, trial.config_id"
#define TT__TRIALS_FROM " FROM trial CROSS JOIN run ON run.id = trial.run_id CROSS JOIN config ON config.id = trial.config_id" \
    " CROSS JOIN template ON template.id = config.template_id WHERE trial.problem_id = ?5 AND run.gpu_id = ?4" \
    " AND (?1 IS NULL OR run.env_id = (SELECT id FROM env WHERE driver = ?1 AND nvrtc = ?2 AND library = ?3))"

/* Second, by the largest number, which is roughly the problem's size. */
#define TT__PROBLEM_ORDER "operation.name, operation.text, problem.warm, problem.in_graph, problem.unverified, " \
    TT__VALUE("elem_size") "," \
    " (SELECT max(value) FROM value WHERE problem_id = problem.id AND typeof(value) = 'integer'), problem.key"
#define TT__FROM_WINNER " FROM winner w CROSS JOIN gpu ON gpu.id = w.gpu_id JOIN problem ON problem.id = w.problem_id" TT__JOIN_OPERATION \
    " JOIN run ON run.id = w.run_id JOIN env ON env.id = run.env_id" \
    " JOIN config ON config.id = w.config_id JOIN template ON template.id = config.template_id "
#define TT__SELECT_WINNER "SELECT " TT__GPU_COLS ", " TT__PROBLEM_COLS ", " TT__ENV_COLS "," \
    " template.kernel, template.hash, config.text, run.source, " TT__WINNER_COLS TT__FROM_WINNER
#define TT__WINNER_ORDER " AND (?2 IS NULL OR operation.name = ?2) ORDER BY gpu.name, gpu.mig, " TT__PROBLEM_ORDER \
    ", w.gpu_id, w.problem_id"
/* Assigns a number unless it is unknown. */
#define TT__KNOWN(column) " " column " = iif(excluded." column " > 0, excluded." column ", " column ")"
/* Runs by age. Ids do not show it, because a merge adds older runs later. */
#define TT__RUN_AGE "(run.started_ms * 1048576 + (run.id & 1048575))"

/* The runs of a GPU (?1) in an environment (?2), replayed or not (?3), and problems from ?4 to ?5. */
#define TT__EXPORT_RUN " CROSS JOIN run ON run.id = trial.run_id AND run.gpu_id = ?1 AND run.env_id = ?2 AND (run.source = 1) = ?3"
#define TT__EXPORT_BETWEEN " trial.problem_id BETWEEN ?4 AND ?5"
/* ?6: ids of templates, as JSON. */
#define TT__EXPORT_LIVE " CROSS JOIN config ON config.id = trial.config_id" \
    " AND config.template_id IN (SELECT value FROM json_each(?6))"
/* The newest trials of a problem, which comes first and last. Of its finals only one run, because samples of one run pair
 * up by index. The key of the table has the order of the groups. */
#define TT__EXPORT_NEWEST \
    "WITH newest AS (SELECT trial.*, template.kernel, config.text AS config, run.started_ms + trial.at_ms AS unix_ms," \
    "   max(" TT__RUN_AGE ")" \
    "  FROM trial" TT__EXPORT_RUN TT__EXPORT_LIVE " CROSS JOIN template ON template.id = config.template_id" \
    "  WHERE" TT__EXPORT_BETWEEN " AND (trial.stage = 0 OR trial.run_id = (SELECT trial.run_id FROM trial" TT__EXPORT_RUN \
    TT__EXPORT_LIVE " WHERE" TT__EXPORT_BETWEEN " AND trial.stage = 1 ORDER BY " TT__RUN_AGE " DESC LIMIT 1))" \
    "  GROUP BY trial.problem_id, trial.stage, trial.config_id)"

/* Rows of trials without a winner. */
#define TT__PRUNED_PART "(?1 = 0 OR problem_id = ?1)" \
    " AND (?2 = '' OR problem_id IN (SELECT problem.id FROM problem" TT__JOIN_OPERATION " WHERE operation.name = ?2))" \
    " AND (?3 = '' OR config_id IN (SELECT config.id FROM config JOIN template ON template.id = template_id WHERE kernel = ?3))"
/* A winner of a user's kernel has evidence for other sizes, too. */
#define TT__NO_EVIDENCE " AND NOT EXISTS (SELECT 1 FROM winner w WHERE w.run_id = trial.run_id" \
    " AND w.problem_id = trial.problem_id AND w.config_id = trial.config_id)" \
    " AND NOT (config_id IN (SELECT config_id FROM winner) AND problem_id IN (SELECT problem.id FROM problem" \
    TT__JOIN_OPERATION " WHERE operation.text <> ''))"

/* All trials of a configuration ?3 of kernel ?1 with the text ?2, for problems of the operation with the text ?4. */
#define TT__TRIALS_OF_CONFIG " FROM template CROSS JOIN config ON config.template_id = template.id" \
    " CROSS JOIN operation ON operation.text = ?4 CROSS JOIN problem ON problem.operation_id = operation.id" \
    " CROSS JOIN trial ON trial.problem_id = problem.id AND trial.stage IN (0, 1) AND trial.config_id = config.id"

/* Cubins are linked to a configuration. Derived values may follow it after a blank, which is the character
 * before '!'. A range of keys therefore finds them in the index. */
#define TT__BEGINS(text, config) "(" text " >= " config " AND " text " < " config " || '!')"

/* Does the template solve the winner's problem? Kernels of other tuners have no text. */
#define TT__OP_FITS "(operation.name = template.op AND (operation.text IN ('', template.hash) OR template.hash = ''))"

#define TT__MERGE_TRIALS "SELECT " TT__TRIAL_COLS ", trial.problem_id, trial.stage, trial.config_id, trial.run_id, trial.at_ms"

/* Winners of a GPU (?1; 0: all) and of problems (?2: ids, as JSON; NULL: all), and the trials of their configurations. */
#define TT__LOCKED "(?1 = 0 OR w.gpu_id = ?1) AND (?2 IS NULL OR w.problem_id IN (SELECT value FROM json_each(?2)))"
#define TT__LOCKED_TRIALS " FROM winner w CROSS JOIN trial ON trial.problem_id = w.problem_id AND trial.stage IN (0, 1)" \
    " AND trial.config_id = w.config_id CROSS JOIN run ON run.id = trial.run_id AND run.gpu_id = w.gpu_id WHERE " TT__LOCKED
#define TT__LOCKED_LINKS " FROM config JOIN template ON template.id = config.template_id CROSS JOIN cubin_link k" \
    " ON k.template_hash = template.hash AND " TT__BEGINS("k.config", "config.text") \
    " WHERE config.id IN (SELECT w.config_id FROM winner w WHERE " TT__LOCKED ")"

#define TT__MERGE_PROBLEMS "SELECT problem.id, " TT__PROBLEM_COLS ", problem.key FROM problem" TT__JOIN_OPERATION
#define TT__MERGE_CONFIGS "SELECT config.id, template.kernel, template.op, template.hash, config.text FROM config" \
    " JOIN template ON template.id = config.template_id"
#define TT__MERGE_ENERGIES "SELECT " TT__GPU_COLS ", e.time_us, e.joules, e.noise, e.idle_watts, e.celsius, e.problem_id," \
    " e.config_id, e.unix_ms FROM energy e JOIN gpu ON gpu.id = e.gpu_id"
#define TT__MERGE_WINNERS "SELECT w.problem_id, w.run_id, w.config_id, " TT__WINNER_COLS " FROM winner w"

#define TT__MERGE_RUNS "SELECT run.id, run.source, run.started_ms, run.ended_ms, " TT__GPU_COLS ", " TT__ENV_COLS \
    ", run.who, run.program, run.file FROM run LEFT JOIN gpu ON gpu.id = run.gpu_id LEFT JOIN env ON env.id = run.env_id" \
    " WHERE (?1 = 0 OR run.gpu_id = ?1)"

#define TT__SQL(X) \
    X(BEGIN, "BEGIN IMMEDIATE") \
    X(BEGIN_READING, "BEGIN") \
    X(COMMIT, "COMMIT") \
    X(ROLLBACK, "ROLLBACK") \
    /* Some drivers report a slightly different size for the same memory, so up to 5 % counts as the same
     * GPU. */ \
    X(GPU_FIND, "SELECT gpu.id, " TT__GPU_COLS " FROM gpu WHERE name = ?1 AND mig = ?2 AND cc = ?3" \
        " AND sm_count = ?4 AND abs(memory_bytes - ?5) * 20 <= ?5" \
        " ORDER BY abs(memory_bytes - ?5), id LIMIT 1") \
    X(GPU_ADD, "INSERT INTO gpu (name, mig, cc, sm_count, memory_bytes, l2_bytes, max_threads_per_block," \
        " shared_per_block, peak_gbps) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)") \
    X(GPU_UPDATE, "UPDATE gpu SET l2_bytes = ?2, max_threads_per_block = ?3, shared_per_block = ?4," \
        " peak_gbps = ?5 WHERE id = ?1") \
    X(GPU_LIST, "SELECT gpu.id, " TT__GPU_COLS " FROM gpu ORDER BY gpu.id") \
    X(GPU_AGE, "SELECT max(" TT__RUN_AGE ") FROM run WHERE gpu_id = ?1") \
    X(ENV_FIND, "SELECT id FROM env WHERE driver = ?1 AND nvrtc = ?2 AND library = ?3") \
    X(ENV_ADD, "INSERT INTO env (driver, nvrtc, library) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING") \
    X(PROBLEM_FIND, "SELECT problem.id, problem.moved_bytes FROM operation CROSS JOIN problem ON problem.operation_id = operation.id" \
        " WHERE operation.name = ?1 AND operation.text = ?2 AND problem.key = ?3 AND problem.warm = ?4" \
        " AND problem.unverified = ?5 AND problem.in_graph = ?6") \
    X(OPERATION_ADD, "INSERT INTO operation (name, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING") \
    X(PROBLEM_ADD, "INSERT INTO problem (operation_id, key, warm, unverified, moved_bytes, first, second, in_graph)" \
        " SELECT id, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM operation WHERE name = ?1 AND text = ?2") \
    X(PROBLEM_MOVES, "UPDATE problem SET moved_bytes = ?2 WHERE id = ?1") \
    /* Ten values from place ?2 on, of which the last may be missing: a statement for each would take most of the time of an \
     * import. */ \
    X(VALUES_ADD, "INSERT INTO value (problem_id, place, name, value) SELECT ?1, ?2 + column1, column2, column3 FROM (VALUES" \
        " (0, ?3, ?4), (1, ?5, ?6), (2, ?7, ?8), (3, ?9, ?10), (4, ?11, ?12), (5, ?13, ?14), (6, ?15, ?16), (7, ?17, ?18)," \
        " (8, ?19, ?20), (9, ?21, ?22)) WHERE column2 IS NOT NULL") \
    X(VALUES, "SELECT name, value FROM value WHERE problem_id = ?1 ORDER BY place") \
    X(CONFIG_FIND, "SELECT config.id FROM template JOIN config ON config.template_id = template.id" \
        " WHERE template.kernel = ?1 AND template.op = ?2 AND template.hash = ?3 AND config.text = ?4") \
    X(TEXT_HAS, "SELECT 1 FROM template WHERE hash = ?1 LIMIT 1") \
    X(TEMPLATE_RENAME, "UPDATE OR IGNORE template SET hash = ?2 WHERE hash = ?1") \
    X(OPERATION_RENAME, "UPDATE OR IGNORE operation SET text = ?2 WHERE text = ?1") \
    X(LINK_RENAME, "UPDATE OR IGNORE cubin_link SET template_hash = ?2 WHERE template_hash = ?1") \
    X(TEMPLATE_ADD, "INSERT INTO template (kernel, op, hash) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING") \
    X(CONFIG_ADD, "INSERT INTO config (template_id, text) SELECT id, ?4 FROM template" \
        " WHERE kernel = ?1 AND op = ?2 AND hash = ?3 ON CONFLICT DO NOTHING") \
    X(RUN_ADD, "INSERT INTO run (gpu_id, env_id, source, started_ms, who, program, file)" \
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)") \
    /* A file without a date is known by its content. */ \
    X(RUN_FIND, "SELECT id FROM run WHERE gpu_id = ?1 AND env_id = ?2 AND source = ?3 AND who = ?5 AND file = ?6" \
        " AND (started_ms = ?4 OR file <> '')") \
    X(RUN_END, "UPDATE run SET ended_ms = ?2 WHERE id = ?1") \
    X(TRIAL_PUT, "INSERT INTO trial (problem_id, stage, config_id, run_id, at_ms, status, time, compile_us," \
        " regs, samples, reason, weight, limit_s, bits) VALUES (?1, ?2, ?3, ?4, ?5 - (SELECT started_ms FROM run WHERE id = ?4)," \
        " ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, nullif(?14, 0)) ON CONFLICT (problem_id, stage, config_id, run_id) DO UPDATE SET" \
        " at_ms = excluded.at_ms, status = excluded.status, time = excluded.time," \
        " compile_us = excluded.compile_us, regs = excluded.regs, samples = excluded.samples," \
        " reason = excluded.reason, weight = excluded.weight, limit_s = excluded.limit_s," \
        " bits = excluded.bits") \
    /* In the order in which they ran. SQLite takes the columns beside max() from its row. */ \
    X(TRIALS, "SELECT " TT__TRIALS_COLS ", max(" TT__RUN_AGE ") AS age" TT__TRIALS_FROM " AND trial.stage = ?6" \
        " GROUP BY trial.config_id ORDER BY unix_ms") \
    X(TRIALS_BY_KEY, "SELECT " TT__TRIALS_COLS ", " TT__RUN_AGE TT__TRIALS_FROM " AND trial.stage >= ?6" \
        " ORDER BY trial.stage, trial.config_id, trial.run_id") \
    /* Skipped trials and replays say nothing about this GPU. */ \
    X(LAST_TRIAL, "SELECT " TT__TRIAL_COLS " FROM template CROSS JOIN config ON config.template_id = template.id" \
        " CROSS JOIN trial ON trial.problem_id = ?1 AND trial.stage IN (0, 1) AND trial.config_id = config.id" \
        " CROSS JOIN run ON run.id = trial.run_id CROSS JOIN env ON env.id = run.env_id" \
        " WHERE template.kernel = ?2 AND template.hash = ?3 AND config.text = ?4 AND run.gpu_id = ?5" \
        " AND env.library = ?6 AND (?7 = '' OR env.driver = ?7) AND run.source <> 1 AND trial.status <> 6" \
        " ORDER BY " TT__RUN_AGE " DESC, trial.stage DESC LIMIT 1") \
    /* A configuration of a user's kernel: did it pass where a variable has another value, and was it ever wrong? */ \
    X(COVERS, "SELECT 1" TT__TRIALS_OF_CONFIG " CROSS JOIN value ON value.problem_id = problem.id" \
        " WHERE template.kernel = ?1 AND template.hash = ?2 AND config.text = ?3 AND trial.status = 0" \
        " AND value.name = ?5 AND value.value <> ?6 LIMIT 1") \
    X(COVERS_ALONE, "SELECT 1" TT__TRIALS_OF_CONFIG " CROSS JOIN value ON value.problem_id = problem.id" \
        " WHERE template.kernel = ?1 AND template.hash = ?2 AND config.text = ?3 AND trial.status = 0" \
        " AND value.name = ?5 GROUP BY value.name HAVING max(value.value = ?6) OR min(value.value) < max(value.value)") \
    X(EVER_WRONG, "SELECT 1" TT__TRIALS_OF_CONFIG " WHERE template.kernel = ?1 AND template.hash = ?2" \
        " AND config.text = ?3 AND trial.status = 3 LIMIT 1") \
    X(FINALS_RUNS, "SELECT count(DISTINCT trial.run_id) FROM trial JOIN run ON run.id = trial.run_id" \
        " WHERE trial.problem_id = ?1 AND trial.stage = 1 AND run.gpu_id = ?2 AND run.source <> 1") \
    X(WINNER_ORIGIN, "SELECT run.who, run.program, run.file FROM winner JOIN run ON run.id = winner.run_id" \
        " WHERE winner.gpu_id = ?1 AND winner.problem_id = ?2") \
    X(WINNER_PUT, "INSERT INTO winner (gpu_id, problem_id, run_id, config_id, time_us, copy_us," \
        " copy_fraction, speedup_vs_default, trials, failed, unix_ms, bits, batch_invariant)" \
        " SELECT gpu_id, ?2, ?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 FROM run WHERE id = ?1" \
        " ON CONFLICT (gpu_id, problem_id) DO UPDATE SET run_id = excluded.run_id," \
        " config_id = excluded.config_id, time_us = excluded.time_us, copy_us = excluded.copy_us," \
        " copy_fraction = excluded.copy_fraction, speedup_vs_default = excluded.speedup_vs_default," \
        " trials = excluded.trials, failed = excluded.failed, unix_ms = excluded.unix_ms," \
        " bits = excluded.bits, batch_invariant = excluded.batch_invariant") \
    X(WINNER_BATCH, "UPDATE winner SET batch_invariant = ?3 WHERE gpu_id = ?1 AND problem_id = ?2") \
    X(WINNER_GET, TT__SELECT_WINNER "WHERE w.gpu_id = ?1 AND w.problem_id = ?2") \
    X(WINNER_HAS, "SELECT 1 FROM gpu JOIN winner w ON w.gpu_id = gpu.id AND w.problem_id = ?2 WHERE ?1 IN (0, gpu.id) LIMIT 1") \
    X(WINNERS_OF_GPU, TT__SELECT_WINNER "WHERE w.gpu_id = ?1" TT__WINNER_ORDER) \
    X(WINNERS_OF_CC, TT__SELECT_WINNER "WHERE (?1 = 0 OR gpu.cc = ?1)" TT__WINNER_ORDER) \
    X(WINNERS_LISTED, "SELECT w.gpu_id, w.problem_id, w.trials, w.unix_ms, operation.name" TT__FROM_WINNER \
        "WHERE (?1 = 0 OR w.gpu_id = ?1)" TT__WINNER_ORDER) \
    X(WINNERS_BRIEF, "SELECT w.gpu_id, w.problem_id, w.time_us, template.kernel, template.hash, config.text, run.source, " \
        TT__ENV_COLS " FROM winner w CROSS JOIN run ON run.id = w.run_id CROSS JOIN env ON env.id = run.env_id" \
        " CROSS JOIN config ON config.id = w.config_id CROSS JOIN template ON template.id = config.template_id" \
        " ORDER BY w.gpu_id, w.problem_id") \
    X(RULE_PUT, "INSERT INTO rule (gpu_id, name, text, unix_ms) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE SET" \
        " text = excluded.text, unix_ms = excluded.unix_ms WHERE excluded.unix_ms >= unix_ms") \
    X(RULES, "SELECT gpu_id, text, unix_ms FROM rule WHERE ?1 IN (0, gpu_id) ORDER BY gpu_id, name") \
    X(PROBLEMS, "SELECT " TT__PROBLEM_COLS ", problem.key FROM problem" TT__JOIN_OPERATION " ORDER BY problem.id") \
    X(PEAK_PUT, "INSERT INTO peak (gpu_id, copy_gbps, l2_gbps, fp32_gflops, fp64_gflops, fp16_gflops, tensor_gflops, unix_ms)" \
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (gpu_id) DO UPDATE SET unix_ms = excluded.unix_ms," \
        TT__KNOWN("copy_gbps") "," TT__KNOWN("l2_gbps") "," TT__KNOWN("fp32_gflops") "," TT__KNOWN("fp64_gflops") "," \
        TT__KNOWN("fp16_gflops") "," TT__KNOWN("tensor_gflops")) \
    X(PEAK_GET, "SELECT copy_gbps, l2_gbps, fp32_gflops, fp64_gflops, fp16_gflops, tensor_gflops FROM peak WHERE gpu_id = ?1") \
    X(FLOP_PUT, "UPDATE problem SET flop = ?2 WHERE id = ?1") \
    X(FLOP_GET, "SELECT flop FROM problem WHERE id = ?1") \
    X(ENERGY_PUT, "INSERT OR REPLACE INTO energy (gpu_id, problem_id, config_id, time_us, joules, noise, idle_watts," \
        " celsius, unix_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)") \
    X(ENERGIES, "SELECT e.time_us, e.joules, e.noise, e.idle_watts, e.celsius, template.kernel, config.text FROM energy e" \
        " JOIN config ON config.id = e.config_id JOIN template ON template.id = config.template_id" \
        " WHERE e.gpu_id = ?1 AND e.problem_id = ?2 ORDER BY e.time_us, e.joules, config.text, template.kernel") \
    /* SQLite takes the columns beside min() from its row: the first failure. Replays do not count. A winner of another
     * environment, as an older driver, does not solve what failed altogether since, unless the last run measured on the GPU
     * has that environment again. */ \
    X(UNSOLVED, "SELECT " TT__GPU_COLS ", " TT__PROBLEM_COLS ", count(*), sum(trial.status = 0), trial.status, trial.reason," \
        " template.kernel, config.text, min(iif(trial.status = 0, NULL, run.started_ms + trial.at_ms)) FROM trial" \
        " CROSS JOIN run ON run.id = trial.run_id" \
        " LEFT JOIN winner w ON w.gpu_id = run.gpu_id AND w.problem_id = trial.problem_id LEFT JOIN run won ON won.id = w.run_id" \
        " CROSS JOIN gpu ON gpu.id = run.gpu_id CROSS JOIN problem ON problem.id = trial.problem_id" TT__JOIN_OPERATION \
        " JOIN config ON config.id = trial.config_id JOIN template ON template.id = config.template_id" \
        " WHERE trial.stage = 0 AND trial.status <> 6 AND (?1 = 0 OR run.gpu_id = ?1) AND run.source <> 1" \
        " AND (operation.name = ?2 OR (?2 IS NULL AND (operation.text <> '' OR operation.name NOT IN ('copy', 'transpose_ladder'))))" \
        " AND (won.id IS NULL OR (won.env_id <> run.env_id AND (won.started_ms, won.id) < (run.started_ms, run.id)" \
        "  AND won.env_id IS NOT (SELECT last.env_id FROM run last WHERE last.gpu_id = run.gpu_id AND last.source = 0" \
        "   ORDER BY last.started_ms DESC, last.id DESC LIMIT 1)))" \
        " GROUP BY gpu.id, problem.id HAVING won.id IS NULL OR sum(trial.status = 0) = 0 ORDER BY gpu.name, " TT__PROBLEM_ORDER ", gpu.id, problem.id") \
    X(VERSION, "PRAGMA data_version") \
    X(CUBIN_PUT, "INSERT INTO cubin (key, hash, image) VALUES (?1, ?2, ?3)" \
        " ON CONFLICT (key) DO UPDATE SET hash = excluded.hash, image = excluded.image") \
    X(CUBIN_GET, "SELECT hash, image FROM cubin WHERE key = ?1") \
    X(CUBIN_LINK, "INSERT INTO cubin_link (template_hash, config, elem_size, cc, key)" \
        " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET key = excluded.key") \
    X(CUBIN_FIND, "SELECT cubin.key FROM cubin_link JOIN cubin ON cubin.key = cubin_link.key" \
        " WHERE template_hash = ?1 AND config = ?2 AND elem_size = ?3 AND cc = ?4") \
    X(CUBIN_LINKED, "SELECT 1 FROM cubin_link JOIN cubin ON cubin.key = cubin_link.key" \
        " WHERE template_hash = ?1 AND " TT__BEGINS("config", "?2") " AND elem_size = ?3 AND cc = ?4") \
    /* The newest run with trials. Measured runs come before replayed ones. */ \
    X(EXPORT_ENV, "SELECT run.env_id, run.source = 1," \
        " strftime('%Y-%m-%dT%H:%M:%SZ', run.started_ms / 1000.0, 'unixepoch'), " TT__ENV_COLS "," \
        " " TT__GPU_COLS \
        " FROM run JOIN env ON env.id = run.env_id JOIN gpu ON gpu.id = run.gpu_id WHERE run.gpu_id = ?1" \
        " AND run.id IN (SELECT run_id FROM trial JOIN problem ON problem.id = trial.problem_id" TT__JOIN_OPERATION \
        " WHERE trial.problem_id BETWEEN ?2 AND ?3 AND (?4 IS NULL OR operation.name = ?4) AND (?5 IS NULL OR EXISTS" \
        "  (SELECT 1 FROM config JOIN template ON template.id = template_id WHERE config.id = config_id AND kernel = ?5)))" \
        " ORDER BY run.source = 1, " TT__RUN_AGE " DESC LIMIT 1") \
    /* Of each kernel only the newest text. */ \
    X(EXPORT_KERNELS, "WITH texts AS MATERIALIZED (SELECT operation_id, config.template_id, max(" TT__RUN_AGE ") AS age" \
        "  FROM trial" TT__EXPORT_RUN " CROSS JOIN config ON config.id = trial.config_id" \
        "  CROSS JOIN problem ON problem.id = trial.problem_id WHERE" TT__EXPORT_BETWEEN " GROUP BY operation_id, template_id)" \
        " SELECT kernel, hash, template_id, max(age) FROM texts JOIN template ON template.id = template_id" \
        " JOIN operation ON operation.id = operation_id WHERE (?6 IS NULL OR operation.name = ?6)" \
        " AND (?7 IS NULL OR kernel = ?7) GROUP BY kernel, operation.name ORDER BY kernel, hash") \
    X(EXPORT_PROBLEMS, "SELECT " TT__PROBLEM_COLS " FROM problem" TT__JOIN_OPERATION " WHERE problem.id BETWEEN ?4 AND ?5" \
        " AND EXISTS (SELECT 1 FROM trial" TT__EXPORT_RUN TT__EXPORT_LIVE " WHERE trial.problem_id = problem.id)" \
        " ORDER BY " TT__PROBLEM_ORDER) \
    X(EXPORT_RESULTS, TT__EXPORT_NEWEST " SELECT " TT__TRIAL_COLS ", kernel, config, stage," \
        " strftime('%Y-%m-%dT%H:%M:%fZ', unix_ms / 1000.0, 'unixepoch')," \
        " (SELECT max(trial.weight <> 1) FROM trial WHERE" TT__EXPORT_BETWEEN ")" \
        " FROM newest AS trial ORDER BY stage, kernel, config, config_id") \
    /* A configuration has no character that JSON would have to escape. */ \
    X(EXPORT_PARAMETERS, TT__EXPORT_NEWEST ", one AS (SELECT ' ' || config AS text FROM newest LIMIT 1)" \
        " SELECT key, value, instr(text, ' ' || key || '=') AS place FROM newest, one, json_each(iif(config = '', '{}'," \
        "  '{\"' || replace(replace(config, '=', '\":\"'), ' ', '\",\"') || '\"}')) GROUP BY key, value" \
        " ORDER BY place, CAST(value AS REAL), value") \
    X(EXPORT_CACHE, TT__EXPORT_NEWEST " SELECT " TT__TRIAL_COLS ", trial.config, strftime('%Y-%m-%d %H:%M:%f+00:00'," \
        " unix_ms / 1000.0, 'unixepoch'), max(trial.weight <> 1) OVER (), min(trial.stage)" \
        " FROM newest AS trial GROUP BY trial.config_id ORDER BY trial.config") \
    X(RECORDED_TRIAL, "SELECT " TT__TRIAL_COLS " FROM template CROSS JOIN config CROSS JOIN trial" \
        " WHERE template.kernel = ?2 AND config.template_id = template.id AND config.text = ?3" \
        " AND trial.problem_id = ?1 AND trial.stage = ?4 AND trial.config_id = config.id LIMIT 1") \
    X(RECORDED_PROBLEM, "SELECT 1 FROM trial WHERE problem_id = ?1 LIMIT 1") \
    X(RECORDED_PROBLEMS, "SELECT " TT__PROBLEM_COLS " FROM problem" TT__JOIN_OPERATION \
        " WHERE operation.name = ?1 AND EXISTS (SELECT 1 FROM trial WHERE trial.problem_id = problem.id)" \
        " ORDER BY " TT__PROBLEM_ORDER) \
    /* A winner is tried beside its problem, too, to see that it is right there: that makes no winner.
     * The best trial of each problem by its objective, from the last stage of the finals (these have the most
     * samples), otherwise from screening. The copy has the same number of bytes and regime. */ \
    X(RECORDED_WINNERS, \
        "WITH best AS MATERIALIZED (SELECT trial.*, operation.name AS op, operation.text <> '' AS own, problem.warm," \
        "   problem.in_graph," \
        "   iif(operation.name = 'copy', " TT__VALUE("bytes") ", " TT__VALUE("rows") " * " TT__VALUE("cols") \
        "    * " TT__VALUE("batch") " * " TT__VALUE("elem_size") ") AS bytes" \
        "   FROM problem" TT__JOIN_OPERATION " CROSS JOIN trial ON trial.problem_id = problem.id" \
        "   AND (trial.stage, trial.config_id, trial.run_id) = (SELECT t.stage, t.config_id, t.run_id FROM trial AS t" \
        "    WHERE t.problem_id = problem.id AND t.status = 0 ORDER BY t.stage DESC," \
        "    iif(t.stage = 1, n_samples(t.samples), 0) DESC, t.time * t.weight, t.config_id LIMIT 1))," \
        " pair AS (SELECT best.*, (SELECT min(time) FROM best AS c WHERE c.op = 'copy' AND NOT c.own" \
        "   AND c.warm = best.warm AND c.in_graph = best.in_graph AND c.bytes = best.bytes) AS copy FROM best)" \
        " INSERT INTO winner (gpu_id, problem_id, run_id, config_id, time_us, copy_us, copy_fraction," \
        "   speedup_vs_default, trials, failed, unix_ms)" \
        " SELECT run.gpu_id, problem_id, run_id, config_id, time / 1e4, coalesce(copy / 1e4, 0.0)," \
        "   coalesce(1.0 * copy / time, 0.0), 0.0," \
        "   (SELECT count(*) FROM trial AS t WHERE t.problem_id = pair.problem_id AND t.stage = 0)," \
        "   (SELECT count(*) FROM trial AS t WHERE t.problem_id = pair.problem_id AND t.stage = 0" \
        "     AND t.status NOT IN (0, 6)), run.started_ms" \
        " FROM pair JOIN run ON run.id = run_id WHERE (own OR op NOT IN ('copy', 'transpose_ladder'))" \
        " AND NOT (own AND stage = 0 AND (SELECT count(*) FROM trial AS t WHERE t.problem_id = pair.problem_id) = 1" \
        "   AND config_id IN (SELECT t.config_id FROM trial AS t WHERE t.stage = 1))") \
    /* In milliseconds; 0: it is no date. */ \
    X(RECORDED_DATE, "SELECT coalesce(CAST(strftime('%s', ?1) AS INTEGER) * 1000, 0)") \
    /* Of the run that began at ?1. Files that do not say when a trial ended have that time. */ \
    X(RECORDED_TRIALS, "INSERT INTO trial (" TT__PULLED_COLS ") SELECT status, time, compile_us, regs, samples, reason, weight," \
        " limit_s, bits, problem_id, stage, config_id, run_id," \
        " coalesce(CAST(round((julianday(at_ms) - 2440587.5) * 864e5) AS INTEGER) - ?1, 0) FROM pulled WHERE true" \
        " ON CONFLICT (problem_id, stage, config_id, run_id) DO UPDATE SET at_ms = excluded.at_ms, status = excluded.status," \
        " time = excluded.time, compile_us = excluded.compile_us, regs = excluded.regs, samples = excluded.samples," \
        " reason = excluded.reason, weight = excluded.weight, limit_s = excluded.limit_s, bits = excluded.bits") \
    X(MERGE_RUNS, TT__MERGE_RUNS " ORDER BY run.started_ms, run.id") \
    X(MERGE_RUN_END, "UPDATE run SET ended_ms = ?2 WHERE id = ?1 AND ended_ms IS NULL") \
    X(MERGE_PROBLEMS, TT__MERGE_PROBLEMS " ORDER BY problem.id") \
    X(MERGE_CONFIGS, TT__MERGE_CONFIGS " ORDER BY config.id") \
    X(MERGE_TRIALS, TT__MERGE_TRIALS " FROM trial") \
    X(MERGE_PEAKS, "SELECT " TT__GPU_COLS ", copy_gbps, l2_gbps, fp32_gflops, fp64_gflops, fp16_gflops, tensor_gflops" \
        " FROM peak JOIN gpu ON gpu.id = peak.gpu_id WHERE ?1 = 0 OR gpu.id = ?1") \
    X(MERGE_RULES, "SELECT " TT__GPU_COLS ", rule.text, rule.unix_ms FROM rule JOIN gpu ON gpu.id = rule.gpu_id" \
        " WHERE ?1 = 0 OR gpu.id = ?1") \
    X(MERGE_FLOPS, "SELECT id, flop FROM problem WHERE flop > 0") \
    X(MERGE_ENERGIES, TT__MERGE_ENERGIES " WHERE ?1 = 0 OR gpu.id = ?1") \
    X(MERGE_ENERGY_PUT, "INSERT INTO energy (gpu_id, problem_id, config_id, time_us, joules, noise, idle_watts," \
        " celsius, unix_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT DO NOTHING") \
    X(MERGE_TRIAL_PUT, "INSERT INTO trial (" TT__PULLED_COLS ") SELECT " TT__PULLED_COLS " FROM pulled WHERE true" \
        " ON CONFLICT DO NOTHING") \
    X(MERGE_WINNERS, TT__MERGE_WINNERS " WHERE ?1 = 0 OR w.gpu_id = ?1") \
    X(MERGE_WINNER_OF, "SELECT run.gpu_id, run.source, " TT__OP_FITS ", " TT__ENV_COLS \
        " FROM run JOIN env ON env.id = run.env_id JOIN problem ON problem.id = ?2" TT__JOIN_OPERATION \
        " JOIN config ON config.id = ?3 JOIN template ON template.id = config.template_id WHERE run.id = ?1") \
    X(MERGE_CUBINS, "SELECT key, hash, image FROM cubin") \
    X(MERGE_CUBIN_PUT, "INSERT INTO cubin (key, hash, image) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING") \
    X(MERGE_LINKS, "SELECT template_hash, config, elem_size, cc, key FROM cubin_link") \
    X(LOCK_RUNS, TT__MERGE_RUNS " AND run.id IN (SELECT trial.run_id" TT__LOCKED_TRIALS " UNION SELECT w.run_id FROM winner w" \
        " WHERE " TT__LOCKED ") ORDER BY run.started_ms, run.id") \
    X(LOCK_PROBLEMS, TT__MERGE_PROBLEMS " WHERE problem.id IN (SELECT w.problem_id FROM winner w WHERE " TT__LOCKED ")" \
        " ORDER BY problem.id") \
    X(LOCK_CONFIGS, TT__MERGE_CONFIGS " WHERE config.id IN (SELECT w.config_id FROM winner w WHERE " TT__LOCKED ")" \
        " ORDER BY config.id") \
    X(LOCK_TRIALS, TT__MERGE_TRIALS TT__LOCKED_TRIALS) \
    X(LOCK_WINNERS, TT__MERGE_WINNERS " WHERE " TT__LOCKED) \
    X(LOCK_ENERGIES, TT__MERGE_ENERGIES " JOIN winner w ON w.gpu_id = e.gpu_id AND w.problem_id = e.problem_id" \
        " AND w.config_id = e.config_id WHERE " TT__LOCKED) \
    X(LOCK_CUBINS, "SELECT key, hash, image FROM cubin WHERE key IN (SELECT k.key" TT__LOCKED_LINKS ")") \
    X(LOCK_LINKS, "SELECT k.template_hash, k.config, k.elem_size, k.cc, k.key" TT__LOCKED_LINKS) \
    X(MERGE_LINK_PUT, "INSERT INTO cubin_link (template_hash, config, elem_size, cc, key)" \
        " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING") \
    X(PRUNE_LIST_WINNERS, "SELECT gpu_id, problem_id FROM winner") \
    /* Texts of cubins that have no trial, for PRUNE_LIST_TEXTS. No kernel has an empty name. */ \
    X(PRUNE_NAME_TEXTS, "INSERT INTO template (kernel, op, hash) SELECT DISTINCT '', '', template_hash FROM cubin_link" \
        " WHERE template_hash NOT IN (SELECT hash FROM template)") \
    X(PRUNE_UNNAME_TEXTS, "DELETE FROM template WHERE kernel = ''") \
    X(PRUNE_LIST_TEXTS, "SELECT id, kernel, hash FROM template") \
    X(PRUNE_NAMES, "SELECT name FROM operation WHERE NOT ?1 UNION SELECT kernel FROM template WHERE ?1 AND kernel <> '' ORDER BY 1") \
    X(PRUNE_WINNER, "DELETE FROM winner WHERE gpu_id = ?1 AND problem_id = ?2") \
    X(PRUNE_WINNERS_OF_GPU, "DELETE FROM winner WHERE gpu_id = ?1") \
    X(PRUNE_WINNERS_BEFORE, "DELETE FROM winner WHERE unix_ms < ?1") \
    X(PRUNE_TRIALS_OF_GPU, "DELETE FROM trial WHERE run_id IN (SELECT id FROM run WHERE gpu_id = ?1)") \
    /* Of a problem (0: any), an operation and a kernel ("": any). */ \
    X(PRUNE_WINNERS_OF, "DELETE FROM winner WHERE " TT__PRUNED_PART) \
    X(PRUNE_TRIALS_OF, "DELETE FROM trial WHERE " TT__PRUNED_PART) \
    X(PRUNE_LINKS_OF, "DELETE FROM cubin_link WHERE ?1 = '' OR template_hash IN (SELECT hash FROM template WHERE kernel = ?1)") \
    X(PRUNE_TRIALS_BEFORE, "DELETE FROM trial WHERE run_id IN (SELECT id FROM run WHERE started_ms < ?1)" \
        TT__NO_EVIDENCE) \
    /* A lock file needs the later failures of its winners, too. */ \
    X(PRUNE_TRIALS_OF_TEXT, "DELETE FROM trial WHERE config_id IN (SELECT id FROM config WHERE template_id = ?1)" \
        " AND NOT EXISTS (SELECT 1 FROM run JOIN winner w ON w.gpu_id = run.gpu_id WHERE run.id = trial.run_id" \
        " AND w.problem_id = trial.problem_id AND w.config_id = trial.config_id)") \
    X(PRUNE_TRIALS_OF_OTHERS, "DELETE FROM trial WHERE run_id IN (SELECT run.id FROM run JOIN env" \
        " ON env.id = run.env_id WHERE env.library <> ?1)" TT__NO_EVIDENCE) \
    X(PRUNE_LINKS_OF_TEXT, "DELETE FROM cubin_link WHERE template_hash = (SELECT hash FROM template WHERE id = ?1)" \
        " AND config NOT IN (SELECT k.config FROM config CROSS JOIN cubin_link k WHERE config.template_id = ?1" \
        " AND config.id IN (SELECT config_id FROM winner)" \
        " AND k.template_hash = (SELECT hash FROM template WHERE id = ?1)" \
        " AND " TT__BEGINS("k.config", "config.text") ")") \
    /* An import is one transaction. */ \
    X(UNDER_WAY, "SELECT 1 FROM run WHERE ended_ms IS NULL AND started_ms > ?1 AND source <> 2 LIMIT 1") \
    X(SWEEP_ENERGIES, "DELETE FROM energy WHERE NOT EXISTS (SELECT 1 FROM trial JOIN run ON run.id = trial.run_id" \
        " WHERE trial.problem_id = energy.problem_id AND trial.config_id = energy.config_id AND run.gpu_id = energy.gpu_id)") \
    X(SWEEP_PEAKS, "DELETE FROM peak WHERE gpu_id NOT IN (SELECT gpu_id FROM run)") \
    X(SWEEP_RUNS, "DELETE FROM run WHERE id NOT IN (SELECT run_id FROM trial)" \
        " AND id NOT IN (SELECT run_id FROM winner)") \
    X(SWEEP_CONFIGS, "DELETE FROM config WHERE id NOT IN (SELECT config_id FROM trial)" \
        " AND id NOT IN (SELECT config_id FROM winner)") \
    X(SWEEP_TEMPLATES, "DELETE FROM template WHERE id NOT IN (SELECT template_id FROM config)") \
    X(SWEEP_PROBLEMS, "DELETE FROM problem WHERE id NOT IN (SELECT problem_id FROM trial)" \
        " AND id NOT IN (SELECT problem_id FROM winner)") \
    X(SWEEP_VALUES, "DELETE FROM value WHERE problem_id NOT IN (SELECT id FROM problem)") \
    X(SWEEP_OPERATIONS, "DELETE FROM operation WHERE id NOT IN (SELECT operation_id FROM problem)") \
    X(SWEEP_ENVS, "DELETE FROM env WHERE id NOT IN (SELECT env_id FROM run)") \
    /* A rule's name begins "rule 1 OPERATION", and has " text HASH" if a user's file declares that. */ \
    X(SWEEP_RULES, "DELETE FROM rule WHERE NOT EXISTS (SELECT 1 FROM operation JOIN problem ON operation_id = operation.id" \
        " WHERE instr(replace(rule.name, char(10), ' '), 'rule 1 ' || operation.name || ' ') = 1" \
        " AND instr(rule.name, operation.text) > 0 AND (operation.text <> '') = (instr(rule.name, ' text ') > 0)" \
        " AND (EXISTS (SELECT 1 FROM winner WHERE winner.problem_id = problem.id AND winner.gpu_id = rule.gpu_id)" \
        " OR EXISTS (SELECT 1 FROM trial JOIN run ON run.id = trial.run_id" \
        " WHERE trial.problem_id = problem.id AND run.gpu_id = rule.gpu_id)))") \
    X(SWEEP_GPUS, "DELETE FROM gpu WHERE id NOT IN (SELECT gpu_id FROM run)") \
    X(SWEEP_CUBINS, "DELETE FROM cubin WHERE key NOT IN (SELECT key FROM cubin_link)") \
    X(CHECK_INTEGRITY, "PRAGMA integrity_check") \
    X(CHECK_KEYS, "SELECT \"table\", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2") \
    X(CHECK_RULES, "SELECT text FROM rule ORDER BY gpu_id, name") \
    X(CHECK_ENVS, "SELECT env.id, " TT__ENV_COLS " FROM env") \
    X(CHECK_RUNS, "SELECT id, started_ms FROM run WHERE started_ms NOT BETWEEN 0 AND 4102444800000") \
    X(CHECK_WINNERS, "SELECT w.problem_id, " TT__WINNER_COLS ", run.gpu_id = w.gpu_id FROM winner w" \
        " JOIN run ON run.id = w.run_id") \
    X(CHECK_OPS, "SELECT problem_id, template.op, operation.name FROM winner w" \
        " JOIN problem ON problem.id = problem_id" TT__JOIN_OPERATION \
        " JOIN config ON config.id = config_id JOIN template ON template.id = template_id" \
        " WHERE NOT " TT__OP_FITS) \
    X(FILE_BYTES, "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")

/* clang-format on */

#define TT__SQL_ENUM(name, text) TT__SQL_##name,
typedef enum tt__sql { TT__SQL(TT__SQL_ENUM) TT__SQL_COUNT } tt__sql;
#undef TT__SQL_ENUM

#endif
