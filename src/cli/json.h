/* SPDX-License-Identifier: GPL-2.0-only */
/* Shorthands for building JSON objects; json-c owns what is added. */
#ifndef SP_JSON_H
#define SP_JSON_H

#include <json-c/json.h>
#include <stdint.h>

static inline void json_add_number(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static inline void json_add_double(struct json_object *o, const char *key, double value)
{
	json_object_object_add(o, key, json_object_new_double(value));
}

static inline void json_add_text(struct json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, json_object_new_string(value));
}

#endif
