"""What a model needs, as plain data: by closed form today, traced later."""
