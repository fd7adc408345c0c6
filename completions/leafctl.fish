# fish completion for leafctl: 'leafctl complete' says what may stand at the cursor.

function __leafctl_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    for line in ($words[1] complete -- $words[2..] "$typed" 2>/dev/null)
        set -l parts (string split -m 1 \t -- $line)
        if test -n "$parts[1]"
            echo $line
        else
            set -l name (string sub -s (math (string length -- "$parts[2]") + 1) -- "$typed")
            for file in (__fish_complete_path "$name")
                printf '%s%s\n' "$parts[2]" $file
            end
        end
    end
end

complete -c leafctl -fk -a '(__leafctl_complete)'
