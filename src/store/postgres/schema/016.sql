-- An artifact is its caller's, not its tenant's; '' is one of before this was kept.
ALTER TABLE artifact ADD COLUMN caller text NOT NULL DEFAULT '';
