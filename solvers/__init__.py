"""How a problem is solved: native algorithms, certificate, registry."""
