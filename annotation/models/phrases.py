"""Phrases that a person marked in captions, where nothing that is known names them."""

from django.db import models

from annotation.models.corpus import Image


class PhraseMarks(models.Model):
    """Which words of an image's captions are its phrases, by hand. Without a row, the chunker finds them."""

    image = models.OneToOneField(Image, on_delete=models.CASCADE, related_name="phrase_marks")
    spans = models.JSONField(default=list, help_text="[caption, first word, word after the last], from 0")
    marked_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "phrase marks"

    def __str__(self) -> str:
        return f"phrases of image {self.image_id}"
