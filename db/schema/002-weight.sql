-- What a time is worth to the objective of its kernel: the best of a problem has the least product of the two.
-- 1 where the time is the objective, and takes no room then.
ALTER TABLE trial ADD COLUMN weight REAL NOT NULL DEFAULT 1.0 CHECK (weight > 0);
