"""A release: sealed from its receipts, looked over before, published in an order, and reported on."""
