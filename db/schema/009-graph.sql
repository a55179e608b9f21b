-- Problems that are launched in CUDA graphs have winners of their own. Foreign keys are off while this runs.
CREATE TABLE new_problem (
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
INSERT INTO new_problem (id, operation_id, warm, unverified, key, first, second, moved_bytes, flop)
SELECT id, operation_id, warm, unverified, key, first, second, moved_bytes, flop FROM problem;
DROP TABLE problem;
ALTER TABLE new_problem RENAME TO problem;
CREATE INDEX problem_near ON problem (operation_id, first, second);
