-- What a device's tool was when an operator let it in, and what it is that waits: JSON, or the
-- digest of one that is too long to keep.
ALTER TABLE device_tool ADD COLUMN approved text NOT NULL DEFAULT '';
ALTER TABLE device_tool ADD COLUMN offered text NOT NULL DEFAULT '';
