-- Which of a few configurations suits a problem that was never measured (src/base/rule.h).
CREATE TABLE rule (
  gpu_id INTEGER NOT NULL REFERENCES gpu (id),
  name TEXT NOT NULL, -- the text's first two lines: the problems it is for
  text TEXT NOT NULL,
  unix_ms INTEGER NOT NULL,
  PRIMARY KEY (gpu_id, name)
) STRICT, WITHOUT ROWID;
