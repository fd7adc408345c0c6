#pragma once

/// Marks what libleaf.so shows to other programs; all else is hidden.
#define LEAF_EXPORT __attribute__((visibility("default")))
