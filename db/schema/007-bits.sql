-- Which class of equal bits a result belongs to: a hash of the output. NULL or 0: unknown, 1: two launches differed.
ALTER TABLE trial ADD COLUMN bits INTEGER;
ALTER TABLE winner ADD COLUMN bits INTEGER NOT NULL DEFAULT 0;
-- Does a row of the winner's result stay the same when rows are added? 0: unknown, 1: yes, 2: no.
ALTER TABLE winner ADD COLUMN batch_invariant INTEGER NOT NULL DEFAULT 0;
