"""Private small area estimation (Fay-Herriot) through the common release interface."""
