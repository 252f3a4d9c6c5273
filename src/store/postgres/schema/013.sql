-- By which names a node calls the keys of its key file, the one that signs first, with commas
-- between. Empty: a program that does not say.
ALTER TABLE node ADD COLUMN keys text COLLATE "C" NOT NULL DEFAULT '';
