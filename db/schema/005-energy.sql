-- What a GPU does at most, as `tune explain` measured it last. 0: unknown.
CREATE TABLE peak (
  gpu_id INTEGER PRIMARY KEY REFERENCES gpu (id),
  copy_gbps REAL NOT NULL, -- of the tuned copy
  l2_gbps REAL NOT NULL,
  fp32_gflops REAL NOT NULL,
  fp64_gflops REAL NOT NULL,
  fp16_gflops REAL NOT NULL, -- without tensor cores
  tensor_gflops REAL NOT NULL, -- fp16, sums in fp32
  unix_ms INTEGER NOT NULL
) STRICT;

-- Floating-point operations of one launch, by the operation's metric gflops. 0: unknown.
ALTER TABLE problem ADD COLUMN flop REAL NOT NULL DEFAULT 0.0;

-- What a launch of a configuration takes. Idle power and the flush are subtracted.
CREATE TABLE energy (
  gpu_id INTEGER NOT NULL REFERENCES gpu (id),
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  config_id INTEGER NOT NULL REFERENCES config (id),
  time_us REAL NOT NULL,
  joules REAL NOT NULL,
  noise REAL NOT NULL, -- half of its 95 % interval
  idle_watts REAL NOT NULL,
  celsius REAL NOT NULL, -- of the GPU, at the end; 0: unknown
  unix_ms INTEGER NOT NULL,
  PRIMARY KEY (gpu_id, problem_id, config_id)
) STRICT, WITHOUT ROWID;
