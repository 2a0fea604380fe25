"""What questions about a picture and one caption share: grading, and checking a written caption."""
