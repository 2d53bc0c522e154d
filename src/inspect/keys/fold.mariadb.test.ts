import { testFolds } from "../../../test/helpers/folded-weights.ts";
import { useServer } from "../../../test/helpers/servers.ts";

testFolds(
  useServer("mariadb-11.8"),
  [
    "utf8mb4_uca1400_ai_ci",
    "utf8mb4_uca1400_nopad_as_cs",
    "utf8mb4_general_ci",
    "utf8mb4_general_nopad_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_nopad_ci",
    "latin1_swedish_ci",
    "latin1_swedish_nopad_ci",
  ],
  { level: " LEVEL 1" },
);
