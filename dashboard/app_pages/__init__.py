"""One module per page; each has one function `page` that draws it."""
