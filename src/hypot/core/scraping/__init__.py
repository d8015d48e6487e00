"""What is measured by scraping: the rate of a counter, what a request costs, and when to scrape next."""
