-- Which limit a trial exceeded, and whose failure it was, was said by its reason alone. Now the status says whether
-- the compiler failed (7: it exceeded its limit, 8: it crashed), and limit_s is the limit in seconds. 0: none.
ALTER TABLE trial ADD COLUMN limit_s REAL NOT NULL DEFAULT 0.0 CHECK (limit_s >= 0);
UPDATE trial SET
  status = CASE WHEN status = 5 THEN 8 WHEN reason LIKE 'compiled%' THEN 7 ELSE status END,
  limit_s = iif(status = 4, CAST(substr(reason, instr(reason, ' longer than ') + 13) AS REAL), 0.0)
WHERE (status = 4 AND (reason LIKE 'ran longer than %' OR reason LIKE 'compiled longer than %'))
  OR (status = 5 AND reason LIKE 'its compiler %');

-- The hash of an imported file without a date, by which it is known when it comes again. '': it has a date.
ALTER TABLE run ADD COLUMN file TEXT NOT NULL DEFAULT '';
UPDATE run SET file = substr(who, 6), who = '' WHERE source = 2 AND length(who) = 21 AND who GLOB 'file [0-9a-f]*';
