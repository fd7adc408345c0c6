/* Prints an ID of the tag that is named and a snowflake ID. */
import com.sun.jna.*;
import com.sun.jna.ptr.*;
import java.util.function.Function;

public class Draw {
  public interface Leaf extends Library {
    Leaf LIB = Native.load("libleaf.so.0", Leaf.class);

    Pointer leaf_allocator_open(Pointer options, PointerByReference e);
    Pointer leaf_allocator_tag(
        Pointer a, String name, PointerByReference e);
    int leaf_tag_next(
        Pointer tag, LongByReference id, PointerByReference e);
    Pointer leaf_generator_open(Pointer options, PointerByReference e);
    int leaf_generator_next(
        Pointer g, LongByReference id, PointerByReference e);
    int leaf_error_status(Pointer error);
    String leaf_error_text(Pointer error);
  }

  /** Gives the call a place for an error, and ends where one came. */
  static <T> T call(Function<PointerByReference, T> work) {
    var place = new PointerByReference();
    T result = work.apply(place);
    Pointer error = place.getValue();
    if (error == null) return result;
    System.err.println(Leaf.LIB.leaf_error_text(error));
    System.exit(Leaf.LIB.leaf_error_status(error));
    throw new AssertionError();
  }

  public static void main(String[] args) {
    var leaf = Leaf.LIB;
    var id = new LongByReference();
    Pointer allocator = call(e -> leaf.leaf_allocator_open(null, e));
    Pointer tag =
        call(e -> leaf.leaf_allocator_tag(allocator, args[0], e));
    call(e -> leaf.leaf_tag_next(tag, id, e));
    System.out.println(id.getValue());
    Pointer generator = call(e -> leaf.leaf_generator_open(null, e));
    call(e -> leaf.leaf_generator_next(generator, id, e));
    System.out.println(id.getValue());
  }
}
