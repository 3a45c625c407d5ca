import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;

/**
 * Answers questions about Avro schemas, one line of JSON for each line of JSON.
 *
 * <p>A question is ["parse", text, reference, ...], answered with {"canonical", "resolved"}, or
 * ["compare", reader, writer], answered with {"problems": [[kind, path, message], ...]}. An
 * exception is answered with {"error"}.
 */
public final class Oracle {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(MAPPER.writeValueAsString(answer(MAPPER.readTree(line))));
    }
  }

  private static ObjectNode answer(JsonNode question) {
    ObjectNode answer = MAPPER.createObjectNode();
    try {
      if (question.get(0).textValue().equals("parse")) {
        parse(question, answer);
      } else {
        compare(question, answer);
      }
    } catch (RuntimeException | StackOverflowError error) {
      answer.removeAll();
      answer.put("error", String.valueOf(error));
    }
    return answer;
  }

  private static Schema.Parser parser() {
    Schema.Parser parser = new Schema.Parser(NameValidator.STRICT_VALIDATOR);
    parser.setValidateDefaults(true);
    return parser;
  }

  @SuppressWarnings("deprecation")
  private static void parse(JsonNode question, ObjectNode answer) {
    Schema.Parser parser = parser();
    List<Schema> references = new ArrayList<>();
    for (int index = 2; index < question.size(); index++) {
      references.add(parser.parse(question.get(index).textValue()));
    }
    Schema schema = parser.parse(question.get(1).textValue());
    answer.put("canonical", schema.toString(references, false));
    answer.put("resolved", schema.toString());
  }

  private static void compare(JsonNode question, ObjectNode answer) {
    Schema reader = parser().parse(question.get(1).textValue());
    Schema writer = parser().parse(question.get(2).textValue());
    ArrayNode problems = answer.putArray("problems");
    for (SchemaCompatibility.Incompatibility problem :
        SchemaCompatibility.checkReaderWriterCompatibility(reader, writer)
            .getResult()
            .getIncompatibilities()) {
      problems.addArray().add(problem.getType().name()).add(problem.getLocation()).add(problem.getMessage());
    }
  }
}
