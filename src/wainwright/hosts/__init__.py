"""Who takes what is released: package indexes and GitHub, asked politely and believed by digest alone."""
