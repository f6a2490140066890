"""The Postgres knowledge base: every evaluation, every optimum, and the models trained from them."""
