"""Files of features, boxes, vectors and figures. Those of rankings, judgments and scores are in
phrasebox.formats."""
