"""The content of a report, computed and laid out: plain data in, plain data out.

`directions` (figures of systems, in both directions), `judging` (agreement of judges), `orders` (systems
ordered by originals and by judgments), `tables` and `document` (their presentation), `layout` (as JSON,
LaTeX, CSV). `services.reports` handles rows and files.
"""
