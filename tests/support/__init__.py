"""What tests share: cases, studies, stores, and what generates them."""
