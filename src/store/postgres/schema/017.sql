-- What an operator has decided for good is the fleet's.
INSERT INTO trust_change (what) VALUES ('approval'), ('device_tool'), ('pin');
CREATE CONSTRAINT TRIGGER approval_changed AFTER INSERT OR DELETE
    ON approval DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('approval');
CREATE CONSTRAINT TRIGGER device_tool_added AFTER INSERT
    ON device_tool DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('device_tool');
CREATE CONSTRAINT TRIGGER device_tool_changed AFTER UPDATE
    ON device_tool DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION count_trust_change('device_tool');
CREATE CONSTRAINT TRIGGER pin_added AFTER INSERT OR DELETE
    ON pin DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION count_trust_change('pin');
CREATE CONSTRAINT TRIGGER pin_changed AFTER UPDATE
    ON pin DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*)
    EXECUTE FUNCTION count_trust_change('pin');
