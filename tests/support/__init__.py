"""Helpers that tests share: cases, studies, stores, programs, generators."""
