"""Ingest: conversion of texts received from other programs into memories."""
