-- A store may hold what many have measured. Each run says who ran it, as "user@host", and which program.
-- '': not known.
ALTER TABLE run ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN program TEXT NOT NULL DEFAULT '';
