"""Small trained models that help to draft or to decide: their shapes, and how their files are
read.
"""
