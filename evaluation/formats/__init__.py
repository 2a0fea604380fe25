"""Files of features, boxes, vectors and figures. Rankings, judgments and scores: phrasebox.formats."""
