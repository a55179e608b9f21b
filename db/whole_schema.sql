-- What all of db/schema/ lead to, as SQLite keeps it. A new store gets it at once, which takes a tenth of their time. Test
-- store_open compares the two, and prints this file.
CREATE TABLE gpu (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  mig TEXT NOT NULL,
  cc INTEGER NOT NULL,
  sm_count INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  l2_bytes INTEGER NOT NULL,
  max_threads_per_block INTEGER NOT NULL,
  shared_per_block INTEGER NOT NULL,
  peak_gbps REAL NOT NULL,
  UNIQUE (name, mig, cc, sm_count, memory_bytes)
) STRICT;
CREATE TABLE env (
  id INTEGER PRIMARY KEY,
  driver TEXT NOT NULL,
  nvrtc TEXT NOT NULL,
  library TEXT NOT NULL,
  UNIQUE (driver, nvrtc, library)
) STRICT;
CREATE TABLE template (
  id INTEGER PRIMARY KEY,
  kernel TEXT NOT NULL,
  op TEXT NOT NULL,
  hash TEXT NOT NULL,
  UNIQUE (kernel, op, hash)
) STRICT;
CREATE TABLE config (
  id INTEGER PRIMARY KEY,
  template_id INTEGER NOT NULL REFERENCES template (id),
  text TEXT NOT NULL,
  UNIQUE (template_id, text)
) STRICT;
CREATE TABLE run (
  id INTEGER PRIMARY KEY,
  gpu_id INTEGER NOT NULL REFERENCES gpu (id),
  env_id INTEGER NOT NULL REFERENCES env (id),
  source INTEGER NOT NULL CHECK (source IN (0, 1, 2)), -- measured, replayed, imported
  started_ms INTEGER NOT NULL,                         -- since 1970, UTC
  ended_ms INTEGER                                     -- NULL: still running, or killed
, who TEXT NOT NULL DEFAULT '', program TEXT NOT NULL DEFAULT '', file TEXT NOT NULL DEFAULT '') STRICT;
CREATE INDEX run_gpu ON run (gpu_id);
CREATE TABLE trial (
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  stage INTEGER NOT NULL CHECK (stage IN (0, 1)), -- screen, final
  config_id INTEGER NOT NULL REFERENCES config (id),
  run_id INTEGER NOT NULL REFERENCES run (id),
  at_ms INTEGER NOT NULL,      -- since the start of the run
  status INTEGER NOT NULL,     -- tt__trial_status
  time INTEGER NOT NULL,       -- median, in units of 0.1 ns
  compile_us INTEGER NOT NULL, -- 0: came from the cache
  regs INTEGER NOT NULL,
  samples BLOB,                -- per sample its difference from `time`, in 0.1 ns: zigzag, then LEB128
  reason TEXT, weight REAL NOT NULL DEFAULT 1.0 CHECK (weight > 0), limit_s REAL NOT NULL DEFAULT 0.0 CHECK (limit_s >= 0), bits INTEGER,                 -- of failures only
  PRIMARY KEY (problem_id, stage, config_id, run_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE winner (
  gpu_id INTEGER NOT NULL REFERENCES gpu (id),
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  run_id INTEGER NOT NULL REFERENCES run (id),
  config_id INTEGER NOT NULL REFERENCES config (id),
  time_us REAL NOT NULL,
  copy_us REAL NOT NULL,
  copy_fraction REAL NOT NULL,
  speedup_vs_default REAL NOT NULL,
  trials INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  unix_ms INTEGER NOT NULL, bits INTEGER NOT NULL DEFAULT 0, batch_invariant INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (gpu_id, problem_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE cubin (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  hash TEXT NOT NULL, -- SHA-256 of the image
  image BLOB NOT NULL
) STRICT;
CREATE TABLE cubin_link (
  template_hash TEXT NOT NULL,
  config TEXT NOT NULL,
  elem_size INTEGER NOT NULL,
  cc INTEGER NOT NULL,
  key TEXT NOT NULL,
  PRIMARY KEY (template_hash, config, elem_size, cc)
) STRICT, WITHOUT ROWID;
CREATE TABLE operation (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  text TEXT NOT NULL, -- hash of the user's file that declares it; '': built in
  UNIQUE (name, text)
) STRICT;
CREATE TABLE value (
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  place INTEGER NOT NULL, -- in the order of declaration, from 0
  name TEXT NOT NULL,
  value ANY NOT NULL, -- INTEGER, or the name of an element type
  PRIMARY KEY (problem_id, place)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE rule (
  gpu_id INTEGER NOT NULL REFERENCES gpu (id),
  name TEXT NOT NULL, -- the text's first two lines: the problems it is for
  text TEXT NOT NULL,
  unix_ms INTEGER NOT NULL,
  PRIMARY KEY (gpu_id, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE "problem" (
  id INTEGER PRIMARY KEY,
  operation_id INTEGER NOT NULL REFERENCES operation (id),
  warm INTEGER NOT NULL CHECK (warm IN (0, 1)),
  unverified INTEGER NOT NULL CHECK (unverified IN (0, 1)),
  key TEXT NOT NULL, -- "n=4096,T=f32": all its values in one, to find it by; never taken apart
  first INTEGER NOT NULL, -- its first two numbers, to find what is near; 0: it has fewer
  second INTEGER NOT NULL,
  moved_bytes REAL NOT NULL, -- read plus written, by the operation's metric gbps; 0: unknown
  flop REAL NOT NULL DEFAULT 0.0,
  in_graph INTEGER NOT NULL DEFAULT 0 CHECK (in_graph IN (0, 1)),
  UNIQUE (operation_id, key, warm, unverified, in_graph)
) STRICT;
CREATE INDEX problem_near ON problem (operation_id, first, second);
