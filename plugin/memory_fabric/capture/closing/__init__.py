"""What a new record closes: `older` asks for earlier ones, `supersede` and `answers` judge them."""
