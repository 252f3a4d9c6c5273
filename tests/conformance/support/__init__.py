"""What the black-box tests share: clients that are strict about the wire, and the gateway as a real
process."""
