"""One module for each back end: it states the problem in the back end's terms and hands its answer over."""
