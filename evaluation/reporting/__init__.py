"""What a report holds, computed and laid out: plain data in, plain data out.

`directions` (figures of systems, both ways), `judging` (agreement of those who judged), `orders` (systems
ranked by originals and by judgments), `tables` and `document` (what is shown of them), `layout` (as JSON,
LaTeX, CSV). Rows and files are `services.reports`' affair.
"""
