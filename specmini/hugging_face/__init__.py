"""The trained pair in the layout that other engines read, and models of that layout in our engine.

``folder`` writes config.json, the weights and the tokenizer without any of their libraries;
``model`` runs any causal language model of such a folder behind ``CachedModel``, if transformers
is installed.
"""
