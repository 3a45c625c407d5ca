import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.security.Permission;
import java.util.Arrays;

/**
 * Runs Apache Kafka's commands in one Java process, because the start of Java costs more than a command's help.
 *
 * <p>Each line of standard input is a class with its arguments. The output is the text of the command and then a
 * line with a NUL. Commands end with System.exit, which a security manager turns into an exception.
 */
@SuppressWarnings("removal")
public final class HelpOfTools {
    private HelpOfTools() {}

    public static void main(String[] arguments) throws IOException, ReflectiveOperationException {
        System.setSecurityManager(new NoExit());
        PrintStream out = System.out;
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            out.print(outputOf(words[0], Arrays.copyOfRange(words, 1, words.length)));
            out.println("\n\0");
        }
        out.flush();
        System.setSecurityManager(null);
    }

    private static String outputOf(String tool, String[] arguments) throws ReflectiveOperationException {
        ByteArrayOutputStream text = new ByteArrayOutputStream();
        PrintStream capture = new PrintStream(text, true, StandardCharsets.UTF_8);
        System.setOut(capture);
        System.setErr(capture);
        try {
            Class.forName(tool).getMethod("main", String[].class).invoke(null, (Object) arguments);
        } catch (InvocationTargetException ended) {
            if (!(ended.getCause() instanceof SecurityException)) {
                throw ended;
            }
        }
        return text.toString(StandardCharsets.UTF_8);
    }

    private static final class NoExit extends SecurityManager {
        @Override
        public void checkExit(int code) {
            throw new SecurityException("exit " + code);
        }

        @Override
        public void checkPermission(Permission permission) {}
    }
}
