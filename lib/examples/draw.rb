# Prints an ID of the tag that is named and a snowflake ID.
require "fiddle/import"

module Leaf
  extend Fiddle::Importer
  dlload "libleaf.so.0"
  extern "void* leaf_allocator_open(void*, void*)"
  extern "void* leaf_allocator_tag(void*, char*, void*)"
  extern "int leaf_tag_next(void*, void*, void*)"
  extern "void* leaf_generator_open(void*, void*)"
  extern "int leaf_generator_next(void*, void*, void*)"
  extern "int leaf_error_status(void*)"
  extern "char* leaf_error_text(void*)"

  # Yields a place for an error, and ends where one came.
  def self.call
    place = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE)
    place[0, 8] = "\0" * 8
    result = yield place
    return result if place.ptr.null?
    warn leaf_error_text(place.ptr).to_s
    exit leaf_error_status(place.ptr)
  end

  def self.id
    place = Fiddle::Pointer.malloc(8, Fiddle::RUBY_FREE)
    call { |error| yield place, error }
    place[0, 8].unpack1("q")
  end
end

name = ARGV[0] or abort "name a tag"
allocator = Leaf.call { |e| Leaf.leaf_allocator_open(nil, e) }
tag = Leaf.call { |e| Leaf.leaf_allocator_tag(allocator, name, e) }
puts Leaf.id { |id, e| Leaf.leaf_tag_next(tag, id, e) }
flakes = Leaf.call { |e| Leaf.leaf_generator_open(nil, e) }
puts Leaf.id { |id, e| Leaf.leaf_generator_next(flakes, id, e) }
