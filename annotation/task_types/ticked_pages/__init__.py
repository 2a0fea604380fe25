"""Pages of pictures with texts to tick: the common parts of kinds that ask which texts fit which picture.

A page has one picture or several, each with some texts beside it. Texts that fit are ticked; there is no
other answer. A kind defines in its own folder what the texts are, and how many pictures a page has.
"""
