"""Private inequality indices (mean log deviation, Theil) through the common release interface."""
