"""The evaluation report: bench/report measures its sections and writes one page."""
