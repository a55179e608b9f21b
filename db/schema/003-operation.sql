-- A problem is an operation and a value for each of its variables. Until now it was a matrix, with a text `op`
-- that had the variables of a user's kernel and the regime in it: "transpose/warm", "saxpy/T=f32,n=4096/unverified".
-- Foreign keys are off while this runs.

-- ---- The old problems, taken apart

CREATE TEMP TABLE old_problem AS
WITH named AS (
  SELECT *, substr(op, 1, instr(op || '/', '/') - 1) AS name, substr(op, -5) = '/warm' AS warm FROM problem
), rested AS ( -- rest: '' of a matrix, else '/VARIABLES' or '/VARIABLES/unverified'
  SELECT *, substr(op, length(name) + 1, length(op) - length(name) - 5 * warm) AS rest FROM named
)
SELECT id, name, warm, rest <> '' AS own, substr(rest, -11) = '/unverified' AS unverified,
  rows, cols, lds, ldd, batch, src_stride, dst_stride, elem_size, align,
  CASE
    WHEN rest <> '' THEN substr(rest, 2, length(rest) - 1 - 11 * (substr(rest, -11) = '/unverified'))
    WHEN name = 'copy' THEN 'bytes=' || (rows * cols * batch * elem_size)
    ELSE printf('rows=%d,cols=%d,elem_size=%d,lds=%d,ldd=%d,batch=%d,src_stride=%d,dst_stride=%d,align=%d',
      rows, cols, elem_size, lds, ldd, batch, src_stride, dst_stride, align)
  END AS key
FROM rested;
CREATE UNIQUE INDEX temp.old_problem_id ON old_problem (id);

-- Which operation each is of. A problem of a user's kernel becomes one for each text that it has trials or a
-- winner of. The first one keeps the number.
CREATE TEMP TABLE used AS
WITH pair AS (
  SELECT o.id AS old, template.hash AS text FROM old_problem o
    CROSS JOIN trial ON trial.problem_id = o.id
    JOIN config ON config.id = trial.config_id JOIN template ON template.id = config.template_id WHERE o.own
  UNION
  SELECT o.id, template.hash FROM winner JOIN old_problem o ON o.id = winner.problem_id
    JOIN config ON config.id = winner.config_id JOIN template ON template.id = config.template_id WHERE o.own
  UNION ALL
  SELECT id, '' FROM old_problem WHERE NOT own
)
SELECT old, text, row_number() OVER (PARTITION BY old ORDER BY text) AS place FROM pair;

-- ---- The new tables

CREATE TABLE operation (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  text TEXT NOT NULL, -- hash of the user's file that declares it; '': built in
  UNIQUE (name, text)
) STRICT;

DROP TABLE problem;
CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  operation_id INTEGER NOT NULL REFERENCES operation (id),
  warm INTEGER NOT NULL CHECK (warm IN (0, 1)),
  unverified INTEGER NOT NULL CHECK (unverified IN (0, 1)),
  key TEXT NOT NULL, -- "n=4096,T=f32": all its values in one, to find it by; never taken apart
  first INTEGER NOT NULL, -- its first two numbers, to find what is near; 0: it has fewer
  second INTEGER NOT NULL,
  moved_bytes REAL NOT NULL, -- read plus written, by the operation's metric gbps; 0: unknown
  UNIQUE (operation_id, key, warm, unverified)
) STRICT;

CREATE TABLE value (
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  place INTEGER NOT NULL, -- in the order of declaration, from 0
  name TEXT NOT NULL,
  value ANY NOT NULL, -- INTEGER, or the name of an element type
  PRIMARY KEY (problem_id, place)
) STRICT, WITHOUT ROWID;

CREATE INDEX problem_near ON problem (operation_id, first, second);

-- ---- What goes into them

INSERT INTO operation (name, text) SELECT DISTINCT o.name, u.text FROM used u JOIN old_problem o ON o.id = u.old;

-- Copies of as many bytes become one.
INSERT OR IGNORE INTO problem (id, operation_id, warm, unverified, key, first, second, moved_bytes)
SELECT iif(u.place = 1, o.id, (SELECT max(id) FROM old_problem) + row_number() OVER (ORDER BY u.place, o.id)),
  operation.id, o.warm, o.unverified, o.key,
  CASE WHEN o.own THEN 0 WHEN o.name = 'copy' THEN o.rows * o.cols * o.batch * o.elem_size ELSE o.rows END,
  iif(o.own OR o.name = 'copy', 0, o.cols), iif(o.own, 0.0, 2.0 * o.rows * o.cols * o.batch * o.elem_size)
FROM used u JOIN old_problem o ON o.id = u.old JOIN operation ON operation.name = o.name AND operation.text = u.text
ORDER BY u.place, o.id;

CREATE TEMP TABLE moved AS
SELECT u.old, o.own, u.text, problem.id
FROM used u JOIN old_problem o ON o.id = u.old JOIN operation ON operation.name = o.name AND operation.text = u.text
  JOIN problem ON problem.operation_id = operation.id AND problem.key = o.key AND problem.warm = o.warm
    AND problem.unverified = o.unverified;
CREATE INDEX temp.moved_old ON moved (old);

INSERT OR IGNORE INTO value (problem_id, place, name, value)
SELECT m.id, s.column1, s.column2,
  CASE s.column2 WHEN 'rows' THEN o.rows WHEN 'cols' THEN o.cols WHEN 'elem_size' THEN o.elem_size
    WHEN 'lds' THEN o.lds WHEN 'ldd' THEN o.ldd WHEN 'batch' THEN o.batch WHEN 'src_stride' THEN o.src_stride
    WHEN 'dst_stride' THEN o.dst_stride WHEN 'align' THEN o.align
    ELSE o.rows * o.cols * o.batch * o.elem_size END
FROM moved m JOIN old_problem o ON o.id = m.old
  JOIN (VALUES (0, 'rows'), (1, 'cols'), (2, 'elem_size'), (3, 'lds'), (4, 'ldd'), (5, 'batch'), (6, 'src_stride'),
    (7, 'dst_stride'), (8, 'align'), (0, 'bytes')) s ON (o.name = 'copy') = (s.column2 = 'bytes')
WHERE NOT m.own;

-- The variables of a user's kernel, "T=f32,n=4096", one after the other.
INSERT OR IGNORE INTO value (problem_id, place, name, value)
WITH RECURSIVE part (id, place, item, rest) AS (
  SELECT m.id, -1, '', o.key || ',' FROM moved m JOIN old_problem o ON o.id = m.old WHERE m.own AND o.key <> ''
  UNION ALL
  SELECT id, place + 1, substr(rest, 1, instr(rest, ',') - 1), substr(rest, instr(rest, ',') + 1) FROM part
  WHERE rest <> ''
)
SELECT id, place, substr(item, 1, instr(item, '=') - 1),
  iif(substr(item, instr(item, '=') + 1) GLOB '*[^0-9]*', substr(item, instr(item, '=') + 1),
    CAST(substr(item, instr(item, '=') + 1) AS INTEGER))
FROM part WHERE place >= 0;

UPDATE problem SET
  first = coalesce((SELECT value FROM value WHERE problem_id = problem.id AND typeof(value) = 'integer' ORDER BY place LIMIT 1), 0),
  second = coalesce((SELECT value FROM value WHERE problem_id = problem.id AND typeof(value) = 'integer' ORDER BY place LIMIT 1
    OFFSET 1), 0)
WHERE id IN (SELECT id FROM moved WHERE own);

-- ---- What refers to them. Of trials and winners that collide the newest stays, which comes last.

INSERT OR REPLACE INTO trial
SELECT m.id, trial.stage, trial.config_id, trial.run_id, trial.at_ms, trial.status, trial.time, trial.compile_us,
  trial.regs, trial.samples, trial.reason, trial.weight
FROM moved m CROSS JOIN trial ON trial.problem_id = m.old JOIN config ON config.id = trial.config_id
  JOIN template ON template.id = config.template_id
WHERE m.id IN (SELECT id FROM moved WHERE id <> old) AND (NOT m.own OR m.text = template.hash)
ORDER BY trial.at_ms;
DELETE FROM trial WHERE problem_id IN (SELECT old FROM moved WHERE id <> old) AND EXISTS (
  SELECT 1 FROM moved m JOIN config ON config.id = trial.config_id JOIN template ON template.id = config.template_id
  WHERE m.old = trial.problem_id AND m.id <> m.old AND (NOT m.own OR m.text = template.hash));

INSERT OR REPLACE INTO winner
SELECT winner.gpu_id, m.id, winner.run_id, winner.config_id, winner.time_us, winner.copy_us, winner.copy_fraction,
  winner.speedup_vs_default, winner.trials, winner.failed, winner.unix_ms
FROM winner JOIN moved m ON m.old = winner.problem_id JOIN config ON config.id = winner.config_id
  JOIN template ON template.id = config.template_id
WHERE m.id IN (SELECT id FROM moved WHERE id <> old) AND (NOT m.own OR m.text = template.hash)
ORDER BY winner.unix_ms;
DELETE FROM winner WHERE problem_id IN (SELECT old FROM moved WHERE id <> old) AND EXISTS (
  SELECT 1 FROM moved m JOIN config ON config.id = winner.config_id JOIN template ON template.id = config.template_id
  WHERE m.old = winner.problem_id AND m.id <> m.old AND (NOT m.own OR m.text = template.hash));

DROP TABLE temp.moved;
DROP TABLE temp.used;
DROP TABLE temp.old_problem;
