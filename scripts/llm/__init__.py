"""What ``scripts.test_llm`` talks about."""
