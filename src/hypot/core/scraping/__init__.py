"""What is measured by scraping: the rate of a counter, and when to scrape next."""
