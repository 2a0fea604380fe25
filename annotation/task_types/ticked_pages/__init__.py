"""Pages of pictures with texts to tick: what kinds share that ask which texts fit which picture.

A page holds a picture or several, each with some texts beside it. Each text that fits is ticked, and nothing
else is answered. A kind says in its own folder what the texts are, and how many pictures a page has.
"""
